import { connect, type Socket } from 'node:net';
import { Kafka } from 'kafkajs';
import { kafkaSettings, type Logger } from '../../src/index.ts';

export interface MuteConnections {
  kafka: Kafka;
  mute(): void;
  /** Breaks them, and waits until each consumer that was disconnected has left: KafkaJS goes on with that by itself. */
  end(): Promise<void>;
}

/** A way to a real Kafka whose present connections can be made to say nothing more; new ones speak. */
export function muteConnections(brokers: string[], log: Logger): MuteConnections {
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
  const leaving: Promise<void>[] = [];
  const createConsumer = kafka.consumer.bind(kafka);
  kafka.consumer = (config) => {
    const consumer = createConsumer(config);
    const { disconnect } = consumer;
    consumer.disconnect = () => {
      const left = disconnect();
      leaving.push(left);
      return left;
    };
    return consumer;
  };
  const end = async (): Promise<void> => {
    // Without an error KafkaJS waits for its deadline.
    for (const socket of sockets) socket.destroy(new Error('broken by the test'));
    await Promise.allSettled(leaving);
  };
  return { kafka, mute, end };
}
