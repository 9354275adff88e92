import { describedRoutes, pageQuery, route, type Route } from '@assistance/service-kit';
import { replayRequest, subscriptionChange, subscriptionCreation } from '@assistance/types';
import type { Dependencies } from './dependencies.ts';
import { getEventType } from './event-types/get-event-type.ts';
import { listEventTypes } from './event-types/list-event-types.ts';
import { description, operations } from './operations.ts';
import { cancelReplay } from './replays/cancel-replay.ts';
import { getReplay } from './replays/get-replay.ts';
import { listReplays } from './replays/list-replays.ts';
import { sinceFaults } from './replays/replay-since.ts';
import { requestReplay } from './replays/request-replay.ts';
import { callbackUrlFaults } from './subscriptions/callback-url-faults.ts';
import { changeSubscription } from './subscriptions/change-subscription.ts';
import { createSubscription } from './subscriptions/create-subscription.ts';
import { deleteSubscription } from './subscriptions/delete-subscription.ts';
import { getSubscription } from './subscriptions/get-subscription.ts';
import { listSubscriptions } from './subscriptions/list-subscriptions.ts';
import { rotateSecret } from './subscriptions/rotate-secret.ts';
import { sendTest } from './subscriptions/send-test.ts';

/** Every operation of the events interface: those of specification 4.2, and the additions of interface-details 3. */
export function routes(deps: Dependencies): Route[] {
  const subscription = '/subscriptions/:subscriptionId';
  const scope = 'events:manage';
  return describedRoutes(description, [
    route({
      method: 'post',
      path: '/subscriptions',
      scope,
      body: subscriptionCreation,
      bodyFaults: (body) => callbackUrlFaults(body, deps.settings.callbackRules),
      operation: operations.create,
      handle: (request) => createSubscription(request, deps),
    }),
    route({
      method: 'get',
      path: '/subscriptions',
      scope,
      operation: operations.list,
      handle: (request) => listSubscriptions(request, deps),
    }),
    route({
      method: 'get',
      path: subscription,
      scope,
      operation: operations.get,
      handle: (request) => getSubscription(request, deps),
    }),
    route({
      method: 'patch',
      path: subscription,
      scope,
      body: subscriptionChange,
      bodyFaults: (body) => callbackUrlFaults(body, deps.settings.callbackRules),
      operation: operations.change,
      handle: (request) => changeSubscription(request, deps),
    }),
    route({
      method: 'delete',
      path: subscription,
      scope,
      operation: operations.delete,
      handle: (request) => deleteSubscription(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/rotate-secret`,
      scope,
      operation: operations.rotateSecret,
      handle: (request) => rotateSecret(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/test`,
      scope,
      operation: operations.test,
      handle: (request) => sendTest(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/replay`,
      scope,
      body: replayRequest,
      bodyOptional: true,
      bodyFaults: (body) => sinceFaults(body, new Date()),
      operation: operations.replay,
      handle: (request) => requestReplay(request, deps),
    }),
    route({
      method: 'get',
      path: `${subscription}/replays`,
      scope,
      query: pageQuery,
      operation: operations.listReplays,
      handle: (request) => listReplays(request, deps),
    }),
    route({
      method: 'get',
      path: `${subscription}/replays/:replayId`,
      scope,
      operation: operations.getReplay,
      handle: (request) => getReplay(request, deps),
    }),
    route({
      method: 'delete',
      path: `${subscription}/replays/:replayId`,
      scope,
      operation: operations.cancelReplay,
      handle: (request) => cancelReplay(request, deps),
    }),
    route({
      method: 'get',
      path: '/event-types',
      scope: 'any',
      operation: operations.listEventTypes,
      handle: () => listEventTypes(),
    }),
    route({
      method: 'get',
      path: '/event-types/:type',
      scope: 'any',
      operation: operations.getEventType,
      handle: (request) => getEventType(request),
    }),
  ]);
}
