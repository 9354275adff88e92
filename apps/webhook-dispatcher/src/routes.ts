import { describedRoutes, route, type Route } from '@assistance/service-kit';
import type { LogDependencies } from './delivery-log/dependencies.ts';
import { explainDelivery, explainQuery } from './delivery-log/explain-delivery.ts';
import { getDelivery } from './delivery-log/get-delivery.ts';
import { getReconciliation, reconciliationQuery } from './delivery-log/get-reconciliation.ts';
import { deliveriesQuery, listDeliveries } from './delivery-log/list-deliveries.ts';
import { eventsQuery, listEvents } from './delivery-log/list-events.ts';
import { retryDelivery } from './delivery-log/retry-delivery.ts';
import { description, operations } from './operations.ts';

export type RouteDependencies = LogDependencies;

/** Every operation of the delivery log; all are additions to the specification (interface-details 4). */
export function routes(deps: RouteDependencies): Route[] {
  const scope = 'events:manage';
  return describedRoutes(description, [
    route({
      method: 'get',
      path: '/deliveries',
      scope,
      query: deliveriesQuery,
      operation: operations.list,
      handle: (request) => listDeliveries(request, deps),
    }),
    route({
      method: 'get',
      path: '/deliveries/:deliveryId',
      scope,
      operation: operations.get,
      handle: (request) => getDelivery(request, deps),
    }),
    route({
      method: 'post',
      path: '/deliveries/:deliveryId/retry',
      scope,
      operation: operations.retry,
      handle: (request) => retryDelivery(request, deps),
    }),
    route({
      method: 'get',
      path: '/subscriptions/:subscriptionId/reconciliation',
      scope,
      query: reconciliationQuery,
      operation: operations.reconcile,
      handle: (request) => getReconciliation(request, deps),
    }),
    route({
      method: 'get',
      path: '/subscriptions/:subscriptionId/events',
      scope,
      query: eventsQuery,
      operation: operations.listEvents,
      handle: (request) => listEvents(request, deps),
    }),
    route({
      method: 'get',
      path: '/explain',
      scope,
      query: explainQuery,
      operation: operations.explain,
      handle: (request) => explainDelivery(request, deps),
    }),
  ]);
}
