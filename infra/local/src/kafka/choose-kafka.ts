export interface KafkaMeans {
  /** The value of KAFKA_BROKERS. */
  brokers: string | undefined;
  brokersAnswer: boolean;
  /** The major version of the Java on this machine. */
  javaMajor: number | undefined;
  maven: boolean;
  /** Kafka's jars were fetched before. */
  jars: boolean;
  docker: boolean;
}

export type KafkaChoice =
  { kind: 'brokers' } | { kind: 'java' } | { kind: 'docker' } | { kind: 'none'; message: string };

export const oldestJava = 17;

/** Brokers of one's own first, then Java, then Docker. */
export function chooseKafka(means: KafkaMeans): KafkaChoice {
  if (means.brokers !== undefined) {
    if (means.brokersAnswer) return { kind: 'brokers' };
    return {
      kind: 'none',
      message:
        `No Kafka broker answers at KAFKA_BROKERS=${means.brokers}. ` +
        'Start it, correct the address (host:port, several with commas), or unset KAFKA_BROKERS to have one started here.',
    };
  }
  if (isJavaReady(means)) return { kind: 'java' };
  if (means.docker) return { kind: 'docker' };
  return {
    kind: 'none',
    message: [
      'The platform needs Kafka, and there is no way to start it on this machine. Any one of these is enough:',
      `  - Java ${oldestJava} or newer with Maven: ${whatJavaLacks(means)}`,
      '  - Docker: no engine answers. Start it, or install it.',
      '  - brokers of your own: set KAFKA_BROKERS=host:port.',
    ].join('\n'),
  };
}

function isJavaReady({ javaMajor, maven, jars }: KafkaMeans): boolean {
  return javaMajor !== undefined && javaMajor >= oldestJava && (maven || jars);
}

function whatJavaLacks({ javaMajor }: KafkaMeans): string {
  if (javaMajor === undefined) {
    return 'no Java was found. Install it (for example: apt install openjdk-17-jre-headless maven), or set JAVA_HOME.';
  }
  if (javaMajor < oldestJava) {
    return `Java ${javaMajor} was found, which is too old. Install a newer one, or set JAVA_HOME to it.`;
  }
  return 'Java is there, Maven (mvn) was not found. Install it (for example: apt install maven).';
}
