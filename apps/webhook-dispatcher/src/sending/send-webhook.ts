import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { judgeAddress, type AddressPolicy } from '@assistance/public-address';
import type { Logger } from '@assistance/service-kit';
import type { SignatureHeaders } from '@assistance/webhook-signature';
import { failedWith, outcomeOfResponse, reasonOfError, type AttemptOutcome } from './attempt-outcome.ts';
import { connectThroughProxy } from './connect-through-proxy.ts';
import { DeliveryError } from './delivery-error.ts';
import { createHostResolver, lookupBy } from './resolve-host.ts';

const MAX_BODY_BYTES = 64 * 1024;
const KEPT_BODY_BYTES = 4 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_INTERIM_ANSWERS = 100;
/** Names are resolved, and their addresses judged, when a connection is made; so none is used for longer. */
const CONNECTION_AGE_MS = 30_000;

/** Where a subscription's deliveries go; read once from its callbackUrl. */
export interface Target {
  origin: string;
  path: string;
  /** The host is an address, and not one that a delivery may go to. */
  blocked: boolean;
}

export interface WebhookRequest {
  target: Target;
  signature: SignatureHeaders;
  replayId: string | undefined;
  body: Buffer;
}

/**
 * Sends signed POSTs. One deadline covers everything from the name's resolution to the last byte of the answer; at most
 * 64 KiB of the answer are read and 4 KiB kept; redirects are not followed. Compressed answers are neither asked for nor
 * unpacked. Transport errors are outcomes: `done` is called exactly once, and nothing is thrown.
 */
export class WebhookSender {
  private readonly agent: Agent;
  private readonly policy: AddressPolicy;
  private readonly deadlines: Deadlines;

  constructor(options: {
    policy: AddressPolicy;
    timeoutMs: number;
    /** None: the system's. */
    nameServers: string[];
    proxy: URL | undefined;
    log: Logger;
  }) {
    const { policy, timeoutMs, nameServers, proxy, log } = options;
    const resolveHost = createHostResolver(policy, nameServers);
    const direct = buildConnector({
      lookup: lookupBy(resolveHost),
      allowH2: false,
      rejectUnauthorized: true,
      timeout: timeoutMs,
    });
    this.policy = policy;
    this.deadlines = new Deadlines(timeoutMs);
    this.agent = new Agent({
      // The deadline is kept here, for all of an attempt; undici's own timers would only be a second opinion.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: CONNECTION_AGE_MS,
      clientTtl: CONNECTION_AGE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      pipelining: 1,
      allowH2: false,
      connect:
        proxy === undefined ? direct : connectThroughProxy({ proxy, resolveHost, direct, timeoutMs, log }),
    });
  }

  targetOf(callbackUrl: string): Target {
    const url = new URL(callbackUrl);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const blocked = isIP(host) !== 0 && judgeAddress(host, this.policy) === 'blocked';
    return { origin: url.origin, path: url.pathname + url.search, blocked };
  }

  send(request: WebhookRequest, done: (outcome: AttemptOutcome) => void): void {
    const { target, signature, replayId, body } = request;
    if (target.blocked) {
      done(failedWith('blocked_address'));
      return;
    }
    const exchange = new Exchange((outcome) => {
      this.deadlines.delete(exchange);
      done(outcome);
    });
    this.deadlines.add(exchange);
    try {
      this.agent.dispatch(
        {
          origin: target.origin,
          path: target.path,
          method: 'POST',
          headers: {
            'content-type': 'application/cloudevents+json; charset=utf-8',
            'user-agent': 'assistance-webhooks/1.0',
            'accept-encoding': 'identity',
            ...signature,
            ...(replayId === undefined ? {} : { 'x-service-replay': replayId }),
          },
          body,
        },
        exchange,
      );
    } catch (error) {
      exchange.end(failedWith(reasonOfError(error)));
    }
  }

  /** Ends what is under way as failed and closes every connection. */
  async close(): Promise<void> {
    this.deadlines.stop();
    await this.agent.destroy();
  }
}

/** One request and its answer, as undici's raw handler: no stream, no promise, no signal for each. */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly done: (outcome: AttemptOutcome) => void;
  private controller: Dispatcher.DispatchController | undefined;
  private overdue = false;
  private status = 0;
  private interimAnswers = 0;
  private retryAfter: string | undefined;
  private readable = true;
  private bytes = 0;
  private kept: Buffer[] = [];
  private ended = false;

  constructor(done: (outcome: AttemptOutcome) => void) {
    this.done = done;
  }

  end(outcome: AttemptOutcome): void {
    if (this.ended) return;
    this.ended = true;
    this.done(outcome);
  }

  expire(): void {
    this.overdue = true;
    this.end(failedWith('timeout', this.status === 0 ? null : this.status));
    this.controller?.abort(new DeliveryError('DELIVERY_TIMEOUT', 'the deadline of the delivery has passed'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.overdue)
      controller.abort(new DeliveryError('DELIVERY_TIMEOUT', 'the deadline of the delivery has passed'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) {
      this.interimAnswers += 1;
      if (this.interimAnswers > MAX_INTERIM_ANSWERS)
        controller.abort(new DeliveryError('MALFORMED_RESPONSE', 'interim answers without an end'));
      return;
    }
    this.status = status;
    const retryAfter = headers['retry-after'];
    this.retryAfter = typeof retryAfter === 'string' ? retryAfter : undefined;
    const encoding = headers['content-encoding'];
    this.readable = encoding === undefined || encoding === 'identity';
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.readable && this.bytes < KEPT_BODY_BYTES) this.kept.push(Buffer.from(chunk));
    this.bytes += chunk.length;
    if (this.bytes < MAX_BODY_BYTES || this.ended) return;
    this.complete();
    controller.abort(new DeliveryError('DELIVERY_TIMEOUT', 'enough of the answer was read'));
  }

  onResponseEnd(): void {
    this.complete();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end(failedWith(reasonOfError(error), this.status === 0 ? null : this.status));
  }

  private complete(): void {
    this.end(
      outcomeOfResponse({
        status: this.status,
        body: this.kept.length === 0 ? null : textOf(Buffer.concat(this.kept)),
        retryAfter: this.retryAfter,
        now: Date.now(),
      }),
    );
  }
}

/** At most 4 KiB of text that the database can hold. What is no text grows by being told as U+FFFD, and is cut again. */
const textOf = (bytes: Buffer): string => {
  const text = startOf(bytes).replaceAll('\0', '\uFFFD');
  return Buffer.byteLength(text) > KEPT_BODY_BYTES ? startOf(Buffer.from(text)) : text;
};

/** Without the character that the limit goes through. */
const startOf = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, KEPT_BODY_BYTES), { stream: true });

/** All exchanges have the same time, so they end in the order in which they began: one coarse timer serves them all. */
class Deadlines {
  private readonly timeoutMs: number;
  private readonly timer: NodeJS.Timeout;
  private readonly endsAt = new Map<Exchange, number>();

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.timer = setInterval(() => this.expireDue(), Math.max(5, Math.min(100, timeoutMs / 10)));
    this.timer.unref();
  }

  add(exchange: Exchange): void {
    this.endsAt.set(exchange, performance.now() + this.timeoutMs);
  }

  delete(exchange: Exchange): void {
    this.endsAt.delete(exchange);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private expireDue(): void {
    const now = performance.now();
    for (const [exchange, at] of this.endsAt) {
      if (at > now) return;
      exchange.expire();
    }
  }
}
