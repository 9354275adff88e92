export interface KafkaAddresses {
  /** Where clients reach the broker. */
  port: number;
  controllerPort: number;
  dataDir: string;
}

/** One broker that is its own controller, on the loopback interface, for one machine. */
export function kafkaProperties({ port, controllerPort, dataDir }: KafkaAddresses): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': dataDir,
    'auto.create.topics.enable': 'false',
    'num.partitions': '3',
    'group.initial.rebalance.delay.ms': '0',
    // There is one broker, so nothing can be replicated.
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '8',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // A killed broker is back in 6 s, not in 14. Too nervous for production.
    'broker.session.timeout.ms': '2000',
    'broker.heartbeat.interval.ms': '500',
    'log.cleaner.dedupe.buffer.size': '2097152',
  };
}

export function propertiesFile(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');
}

/** The same for the container image, which reads `KAFKA_…` variables. */
export function kafkaVariables(properties: Record<string, string>): Record<string, string> {
  const variable = (name: string) => `KAFKA_${name.replaceAll('.', '_').toUpperCase()}`;
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [variable(name), value]));
}
