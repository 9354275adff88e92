import { connect } from 'node:net';

const apiVersionsKey = 18;
const correlationId = 1;

/** Whether a Kafka broker answers at `host:port`: it is asked for its API versions, in the oldest form. */
export function kafkaAnswers(broker: string, timeoutMs: number): Promise<boolean> {
  const separator = broker.lastIndexOf(':');
  const host = broker.slice(0, separator).replace(/^\[|\]$/g, '');
  const port = Number(broker.slice(separator + 1));
  if (separator < 1 || !Number.isInteger(port) || port < 1 || port > 65_535) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.once('connect', () => socket.write(apiVersionsRequest()));
    socket.once('data', (answer) => done(answer.length >= 8 && answer.readInt32BE(4) === correlationId));
  });
}

function apiVersionsRequest(): Buffer {
  const request = Buffer.alloc(14);
  request.writeInt32BE(10, 0); // the length of what follows
  request.writeInt16BE(apiVersionsKey, 4);
  request.writeInt16BE(0, 6); // version
  request.writeInt32BE(correlationId, 8);
  request.writeInt16BE(-1, 12); // no client id
  return request;
}
