import { Kafka, logLevel, type KafkaConfig, type LogEntry } from 'kafkajs';
import type { Logger } from '../runtime/logger.ts';

export interface KafkaOptions {
  brokers: string[];
  clientId: string;
  log: Logger;
  /** How often a request is tried again: for ever, unless it is a command's, which gives up. */
  retries?: number;
}

/** A KafkaJS client with this platform's time limits. A service's retries for as long as it is used: a broker's outage ends. */
export const connectKafka = (options: KafkaOptions): Kafka => new Kafka(kafkaSettings(options));

export function kafkaSettings({ brokers, clientId, log, retries }: KafkaOptions): KafkaConfig {
  return {
    brokers,
    clientId,
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    retry: {
      initialRetryTime: 100,
      maxRetryTime: 2_000,
      factor: 0.2,
      multiplier: 2,
      retries: retries ?? Number.MAX_SAFE_INTEGER,
    },
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ level, namespace, log: { message, ...fields } }: LogEntry) => {
        const error: unknown = fields['error'];
        log[level === logLevel.ERROR ? 'warn' : 'debug'](
          { namespace, detail: message, error: typeof error === 'string' ? error : undefined },
          'kafka.client',
        );
      },
  };
}
