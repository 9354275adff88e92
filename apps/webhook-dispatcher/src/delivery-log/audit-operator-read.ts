import { isId, type ApiRequest, type Sql } from '@assistance/service-kit';

export type OperatorRequest = Pick<ApiRequest, 'caller' | 'route' | 'requestId' | 'note'>;

const statement = `
  insert into operator_read (operator, route, subscription_id, request_id) values ($1, $2, $3, $4)`;

/** Writes down, before it is answered, that an operator reads what is another's. A filter may be anything; only an id is kept. */
export async function auditOperatorRead(
  sql: Sql,
  { caller, route, requestId, note }: OperatorRequest,
  asked: string | undefined,
): Promise<void> {
  const subscriptionId = asked !== undefined && isId('sub', asked) ? asked : null;
  await sql.$executeRawUnsafe(statement, caller.owner, route, subscriptionId, requestId);
  note({ asOperator: true, subscriptionId });
}
