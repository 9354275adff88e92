import { connect, type Socket } from 'node:net';
import { Kafka } from 'kafkajs';
import { kafkaSettings, type Logger } from '../../src/index.ts';

const NOWHERE = 1;

export interface Way {
  kafka: Kafka;
  /** Breaks its connections; new ones are refused until it is restored. */
  cut(): void;
  restore(): void;
  /** Connections refused so far. */
  refused(): number;
}

/** A way to Kafka that a test can cut, as when the broker is away. */
export function createWay(brokers: string[], log: Logger): Way {
  const sockets = new Set<Socket>();
  let open = true;
  let refused = 0;
  const kafka = new Kafka({
    ...kafkaSettings({ brokers, clientId: 'test', log }),
    socketFactory: ({ host, port, onConnect }) => {
      if (!open) refused += 1;
      const socket = connect({ host, port: open ? port : NOWHERE }, onConnect);
      sockets.add(socket.on('close', () => sockets.delete(socket)));
      return socket;
    },
  });
  return {
    kafka,
    cut: () => {
      open = false;
      for (const socket of sockets) socket.destroy(new Error('cut'));
    },
    restore: () => {
      open = true;
    },
    refused: () => refused,
  };
}
