import { Transform } from 'node:stream';
import { createTcpProxy, type TcpProxy } from './create-tcp-proxy.ts';

/**
 * A way to a broker of this machine that a test can cut and let hang. Kafka's clients ask the first broker where all
 * brokers are, and go there: in its answers the broker's port becomes the proxy's.
 */
export const createKafkaProxy = ({ to, away = false }: { to: string; away?: boolean }): Promise<TcpProxy> =>
  createTcpProxy({ to, away, answersThrough: (port) => replaceAddress(to, port) });

function replaceAddress(address: string, port: number): Transform {
  const [host = '', brokerPort = ''] = address.split(':');
  const told = Buffer.concat([Buffer.from(host), int32(Number(brokerPort))]);
  const replaced = Buffer.concat([Buffer.from(host), int32(port)]);
  let pending = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pending = Buffer.concat([pending, chunk]);
      // Each answer is its length in four bytes, and then so many.
      while (pending.length >= 4 && pending.length >= 4 + pending.readInt32BE()) {
        const end = 4 + pending.readInt32BE();
        const answer = pending.subarray(0, end);
        for (let at = answer.indexOf(told); at >= 0; at = answer.indexOf(told, at)) replaced.copy(answer, at);
        this.push(answer);
        pending = pending.subarray(end);
      }
      done();
    },
  });
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
