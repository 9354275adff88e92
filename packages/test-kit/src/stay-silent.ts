/**
 * Lets a transaction of a test be silent for as long as the test wants: it is somebody else's, who has none of the deadlines
 * of a service's connections.
 */
export const staySilent = (transaction: {
  $executeRawUnsafe(statement: string): PromiseLike<unknown>;
}): PromiseLike<unknown> =>
  transaction.$executeRawUnsafe('set local idle_in_transaction_session_timeout = 0');
