import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { unavailable, type Logger } from '@assistance/service-kit';
import type { Inboxes } from '../inbox/inboxes.ts';
import { receiveDelivery } from '../inbox/receive-delivery.ts';
import { answerRefusal } from '../answer-refusal.ts';
import { forwardToService } from './forward-to-service.ts';

export interface FrontDoorOptions {
  /** The services' base paths with the addresses of their instances. */
  upstreams: Readonly<Record<string, string[]>>;
  /** Absent where the platform is run as an agency would. */
  inboxes: Inboxes | undefined;
  /** Everything else: the issuer, the controls, and what there is not. */
  app: RequestListener;
  log: Logger;
}

/** The one port of the platform: decides by the beginning of the path who answers. */
export function createFrontDoor({ upstreams, inboxes, app, log }: FrontDoorOptions): RequestListener {
  const services = Object.entries(upstreams).map(([prefix, instances]) => ({
    prefix,
    forward: forwardToService({ prefix, instances, log }),
  }));

  return (request, response) => {
    const path = pathOf(request);
    const service = services.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
    if (service !== undefined) return service.forward(request, response);
    const inbox =
      request.method === 'POST' ? inboxes?.find(/^\/inbox\/([^/]+)$/.exec(path)?.[1] ?? '') : undefined;
    if (inbox === undefined) return app(request, response);
    receiveDelivery(inbox, request, response).catch((error: unknown) =>
      refuseDelivery(request, response, error),
    );
  };

  function refuseDelivery(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (request.destroyed && !request.complete) return; // the sender broke off
    log.error({ err: error }, 'inbox.not_kept');
    answerRefusal(request, response, unavailable(error));
  }
}

/** The path of the request; an address in absolute form (RFC 9112, section 3.2.2) is cut to its path. */
function pathOf(request: IncomingMessage): string {
  let address = request.url ?? '/';
  if (!address.startsWith('/') && URL.canParse(address)) {
    const { pathname, search } = new URL(address);
    address = pathname + search;
    request.url = address;
  }
  const query = address.indexOf('?');
  return query === -1 ? address : address.slice(0, query);
}
