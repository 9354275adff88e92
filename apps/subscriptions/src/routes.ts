import { pageQuery, route, type Route } from '@assistance/service-kit';
import { replayRequest, subscriptionChange, subscriptionCreation } from '@assistance/types';
import type { Dependencies } from './dependencies.ts';
import { getEventType } from './event-types/get-event-type.ts';
import { listEventTypes } from './event-types/list-event-types.ts';
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

export const basePath = '/events/v1';

/** Every operation of the events interface: those of specification 4.2, and the additions of interface-details 3. */
export function routes(deps: Dependencies): Route[] {
  const { callbackRules } = deps.settings;
  const subscription = '/subscriptions/:subscriptionId';
  const scope = 'events:manage';
  return [
    route({
      method: 'post',
      path: '/subscriptions',
      scope,
      body: subscriptionCreation,
      bodyFaults: (body) => callbackUrlFaults(body, callbackRules),
      handle: (request) => createSubscription(request, deps),
    }),
    route({
      method: 'get',
      path: '/subscriptions',
      scope,
      handle: (request) => listSubscriptions(request, deps),
    }),
    route({
      method: 'get',
      path: subscription,
      scope,
      handle: (request) => getSubscription(request, deps),
    }),
    route({
      method: 'patch',
      path: subscription,
      scope,
      body: subscriptionChange,
      bodyFaults: (body) => callbackUrlFaults(body, callbackRules),
      handle: (request) => changeSubscription(request, deps),
    }),
    route({
      method: 'delete',
      path: subscription,
      scope,
      handle: (request) => deleteSubscription(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/rotate-secret`,
      scope,
      handle: (request) => rotateSecret(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/test`,
      scope,
      handle: (request) => sendTest(request, deps),
    }),
    route({
      method: 'post',
      path: `${subscription}/replay`,
      scope,
      body: replayRequest,
      bodyOptional: true,
      bodyFaults: (body) => sinceFaults(body, new Date()),
      handle: (request) => requestReplay(request, deps),
    }),
    route({
      method: 'get',
      path: `${subscription}/replays`,
      scope,
      query: pageQuery,
      handle: (request) => listReplays(request, deps),
    }),
    route({
      method: 'get',
      path: `${subscription}/replays/:replayId`,
      scope,
      handle: (request) => getReplay(request, deps),
    }),
    route({
      method: 'delete',
      path: `${subscription}/replays/:replayId`,
      scope,
      handle: (request) => cancelReplay(request, deps),
    }),
    route({ method: 'get', path: '/event-types', scope: 'any', handle: () => listEventTypes() }),
    route({
      method: 'get',
      path: '/event-types/:type',
      scope: 'any',
      handle: (request) => getEventType(request),
    }),
  ];
}
