import type { PlatformAddresses } from './platform-addresses.ts';
import type { PlatformSettings } from './platform-settings.ts';
import type { Secrets } from './secrets.ts';
import type { Instance, Service } from './services.ts';

export interface Surroundings {
  settings: PlatformSettings;
  addresses: PlatformAddresses;
  secrets: Secrets;
  brokers: string[];
  databases: Record<Service, string>;
  /** Of the person who started the platform. */
  environment: NodeJS.ProcessEnv;
}

/** Of the person's own environment a process gets these and no others. */
const inherited = [
  'PATH',
  'HOME',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'NODE_COMPILE_CACHE',
  'LOG_LEVEL',
  'KAFKA_TOPIC_PREFIX',
];

/** Settings of the services that a person may set for `npm start` (interface-details 1 to 4). */
const tunable = [
  ...['RATE_LIMIT_PER_SECOND', 'OPERATOR_CLIENTS', 'DATABASE_POOL_SIZE', 'APPLICANT_REF_PATTERN'],
  ...['MAX_SUBSCRIPTIONS_PER_CLIENT', 'CALLBACK_ALLOWED_NETWORKS', 'DNS_SERVERS', 'OUTGOING_PROXY'],
  ...[
    'RETRY_BASE_MS',
    'RETRY_FACTOR',
    'RETRY_MAX_MS',
    'RETRY_MAX_ATTEMPTS',
    'DELIVERY_TIMEOUT_MS',
    'LANE_CONCURRENCY',
    'MAX_IN_FLIGHT',
  ],
  ...['FAILING_AFTER_ATTEMPTS', 'FAILING_AFTER_MS', 'FAILING_RETRY_MAX_MS', 'PAUSE_AFTER_MS'],
  ...['RETENTION_DAYS', 'SECRET_OVERLAP_MS'],
];

/** What one instance of a service reads from its environment. */
export function serviceEnvironment(instance: Instance, surroundings: Surroundings): NodeJS.ProcessEnv {
  const { settings, addresses, secrets, brokers, databases, environment } = surroundings;
  const { service, name } = instance;
  const common = {
    HTTP_PORT: String(addresses.port(`${name}:http`)),
    OPS_PORT: String(addresses.port(`${name}:ops`)),
    DATABASE_URL: databases[service],
    KAFKA_BROKERS: brokers.join(','),
    TOKEN_AUDIENCE: addresses.audience,
    TOKEN_ISSUERS: JSON.stringify([
      {
        issuer: addresses.issuer,
        jwksUri: `http://127.0.0.1:${settings.port}/auth/jwks`,
        // Who acts for a user shows that a smart card was used (RFC 8176).
        requireAmr: ['sc'],
      },
    ]),
    CURSOR_KEY: secrets.cursorKey,
    KEY_RING: JSON.stringify(
      service === 'applications' ? secrets.applicationsKeyRing : secrets.subscriptionsKeyRing,
    ),
  };
  const own = service === 'applications' ? applicationsOnly(surroundings) : callbackRules(settings);
  return {
    ...pick(environment, inherited),
    ...common,
    ...own,
    ...(settings.deployment === 'sandbox' ? { RATE_LIMIT_PER_SECOND: '2000' } : {}),
    ...pick(environment, tunable),
  };
}

export function sandboxEnvironment(surroundings: Surroundings, stateDir: string): NodeJS.ProcessEnv {
  const { settings, addresses, brokers, environment } = surroundings;
  return {
    ...pick(environment, inherited),
    HTTP_PORT: String(settings.port),
    OPS_PORT: String(addresses.port('sandbox:ops')),
    PUBLIC_URL: addresses.gateway,
    KAFKA_BROKERS: brokers.join(','),
    STATE_DIR: stateDir,
    UPSTREAMS: JSON.stringify(addresses.upstreams),
    TOKEN_AUDIENCE: addresses.audience,
    DEPLOYMENT: settings.deployment,
    SUPERVISOR_URL: `http://127.0.0.1:${addresses.port('control')}`,
  };
}

function applicationsOnly({ settings, addresses, secrets }: Surroundings): NodeJS.ProcessEnv {
  const sandbox = settings.deployment === 'sandbox';
  return {
    IDEMPOTENCY_KEY: JSON.stringify(secrets.idempotencyKey),
    PROGRAM_SETS: sandbox ? 'agency,sandbox' : 'agency',
    ...(sandbox ? { PARTNER_CLIENTS: `${addresses.issuer}#other-partner` } : {}),
  };
}

function callbackRules({ deployment }: PlatformSettings): NodeJS.ProcessEnv {
  return deployment === 'sandbox'
    ? { CALLBACK_RULES: 'sandbox', MAX_SUBSCRIPTIONS_PER_CLIENT: '20000' }
    : { CALLBACK_RULES: 'public' };
}

function pick(environment: NodeJS.ProcessEnv, names: string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.filter((name) => environment[name] !== undefined).map((name) => [name, environment[name]]),
  );
}
