import { connect } from 'node:net';
import { Kafka } from 'kafkajs';
import { kafkaSettings, type Logger } from '../../src/index.ts';

const JOIN_GROUP = 11;
/** Of a request: behind its size. Of an answer: behind its size, the request's number and the throttle time. */
const at = { apiKey: 4, requestNumber: 8, answeredNumber: 4, errorCode: 12 };

/** A way to a real Kafka on which the first answer to a consumer's joining says this error instead. */
export function refuseJoining(brokers: string[], errorCode: number, log: Logger): Kafka {
  let joining: number | undefined;
  let refused = false;
  return new Kafka({
    ...kafkaSettings({ brokers, clientId: 'test', log }),
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, onConnect);
      const write = socket.write.bind(socket) as (data: Buffer, encoding: BufferEncoding) => boolean;
      socket.write = ((data: Buffer, encoding: BufferEncoding) => {
        if (!refused && data.readInt16BE(at.apiKey) === JOIN_GROUP)
          joining = data.readInt32BE(at.requestNumber);
        return write(data, encoding);
      }) as typeof socket.write;
      socket.prependListener('data', (answer: Buffer) => {
        if (refused || joining === undefined || answer.readInt32BE(at.answeredNumber) !== joining) return;
        answer.writeInt16BE(errorCode, at.errorCode);
        refused = true;
      });
      return socket;
    },
  });
}
