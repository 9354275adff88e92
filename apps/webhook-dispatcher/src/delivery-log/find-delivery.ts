import { notFound, numbersOfId, type ApiRequest } from '@assistance/service-kit';
import { auditOperatorRead, type OperatorRequest } from './audit-operator-read.ts';
import type { DeliveryColumns } from './delivery-of-row.ts';
import type { LogDependencies } from './dependencies.ts';
import { selectDeliveries } from './select-deliveries.ts';
import { LAST_SEQ } from './wanted-lanes.ts';

/** The delivery that the path names, if the caller may read it; 404 otherwise, also for what is no id at all. */
export async function findDelivery(
  request: OperatorRequest & Pick<ApiRequest, 'params'>,
  { sql, operators }: LogDependencies,
): Promise<DeliveryColumns> {
  const { params, caller } = request;
  const found = await selectDelivery(sql, params['deliveryId'] ?? '', undefined);
  if (found === undefined) throw notFound('delivery');
  if (found.owner === caller.owner) return found;
  if (!operators.has(caller.owner)) throw notFound('delivery');
  await auditOperatorRead(sql, request, found.subscriptionId);
  return found;
}

/** The delivery that the path names, if it is the caller's own; 404 otherwise. */
export async function findOwnDelivery(
  { params, caller }: Pick<ApiRequest, 'params' | 'caller'>,
  { sql }: LogDependencies,
): Promise<DeliveryColumns> {
  const found = await selectDelivery(sql, params['deliveryId'] ?? '', caller.owner);
  if (found === undefined) throw notFound('delivery');
  return found;
}

async function selectDelivery(
  sql: LogDependencies['sql'],
  id: string,
  owner: string | undefined,
): Promise<DeliveryColumns | undefined> {
  const [laneNo, seq] = numbersOfId('dlv', id) ?? [];
  if (laneNo === undefined || seq === undefined || laneNo > LAST_SEQ || seq > LAST_SEQ) return undefined;
  const [found] = await selectDeliveries(sql, { owner, laneNo, fromSeq: seq, toSeq: seq, limit: 1 });
  return found;
}
