/** Resolves when the promise does, or when the time is over; what it would have answered does not matter. */
export function atMost(timeoutMs: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
  return Promise.race([promise.then(() => undefined), timeout]).finally(() => clearTimeout(timer));
}
