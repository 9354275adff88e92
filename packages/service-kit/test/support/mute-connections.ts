import { connect, type Socket } from 'node:net';
import { Kafka } from 'kafkajs';
import { kafkaSettings, type Logger } from '../../src/index.ts';

/** A way to a real Kafka whose present connections can be made to say nothing more; new ones speak. */
export function muteConnections(brokers: string[], log: Logger): { kafka: Kafka; mute(): void } {
  const sockets: Socket[] = [];
  const kafka = new Kafka({
    ...kafkaSettings({ brokers, clientId: 'test', log }),
    socketFactory: ({ host, port, onConnect }) => {
      const socket = connect({ host, port }, onConnect);
      sockets.push(socket);
      return socket;
    },
  });
  const mute = (): void => {
    for (const socket of sockets) socket.removeAllListeners('data').resume();
  };
  return { kafka, mute };
}
