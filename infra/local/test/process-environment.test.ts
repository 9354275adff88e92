import { expect, test } from '@jest/globals';
import { platformSettings } from '../src/platform/platform-settings.ts';
import { sandboxEnvironment, serviceEnvironment } from '../src/platform/process-environment.ts';
import { instancesOf, type Service } from '../src/platform/services.ts';

function surroundingsOf(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const key = { id: 'i1', key: 'secret' };
  const keyRing = { current: 'k1', keys: { k1: 'secret' } };
  return {
    settings: platformSettings(args, {}),
    addresses: {
      gateway: 'http://localhost:8080',
      issuer: 'http://localhost:8080/auth',
      audience: 'all',
      port: () => 1,
      services: {},
      ops: {},
      upstreams: {},
    },
    secrets: {
      cursorKey: 'secret',
      idempotencyKey: key,
      applicationsKeyRing: keyRing,
      subscriptionsKeyRing: keyRing,
    } as unknown as Parameters<typeof serviceEnvironment>[1]['secrets'],
    brokers: ['kafka:9092'],
    databases: {} as Record<Service, string>,
    environment,
  };
}
const environmentOf = (service: Service, environment: NodeJS.ProcessEnv, ...args: string[]) =>
  serviceEnvironment({ service, name: service }, surroundingsOf(environment, ...args));

const tuned = {
  ...{ RETRY_BASE_MS: '1', RETRY_FACTOR: '2', RETRY_MAX_MS: '3', RETRY_MAX_ATTEMPTS: '4' },
  ...{ DELIVERY_TIMEOUT_MS: '5', LANE_CONCURRENCY: '6', FAILING_AFTER_ATTEMPTS: '7', FAILING_AFTER_MS: '8' },
  ...{ FAILING_RETRY_MAX_MS: '9', PAUSE_AFTER_MS: '10', RETENTION_DAYS: '11', SECRET_OVERLAP_MS: '12' },
};

test('what a person sets for deliveries reaches the services; the rest of their environment does not', () => {
  const environment = { ...tuned, AWS_SECRET_ACCESS_KEY: 'theirs', NODE_OPTIONS: '--inspect' };
  for (const service of ['webhook-dispatcher', 'subscriptions'] as const) {
    const given = environmentOf(service, environment);
    expect(given).toMatchObject(tuned);
    expect(given).not.toHaveProperty('AWS_SECRET_ACCESS_KEY');
    expect(given).not.toHaveProperty('NODE_OPTIONS');
  }
});

test('a sandbox takes loopback, test programs and many requests and subscriptions; an agency none of it', () => {
  expect(environmentOf('subscriptions', {})).toMatchObject({
    CALLBACK_RULES: 'sandbox',
    MAX_SUBSCRIPTIONS_PER_CLIENT: '20000',
    RATE_LIMIT_PER_SECOND: '2000',
  });
  expect(environmentOf('applications', {})).toMatchObject({
    PROGRAM_SETS: 'agency,sandbox',
    PARTNER_CLIENTS: 'http://localhost:8080/auth#other-partner',
  });
  const agency = ['--deployment', 'agency'];
  const subscriptions = environmentOf('subscriptions', {}, ...agency);
  expect(subscriptions).toMatchObject({ CALLBACK_RULES: 'public' });
  expect(subscriptions).not.toHaveProperty('MAX_SUBSCRIPTIONS_PER_CLIENT');
  expect(subscriptions).not.toHaveProperty('RATE_LIMIT_PER_SECOND');
  expect(environmentOf('applications', {}, ...agency)).toMatchObject({ PROGRAM_SETS: 'agency' });
  expect(sandboxEnvironment(surroundingsOf({}, ...agency), 'state')).toMatchObject({ DEPLOYMENT: 'agency' });
});

test('two instances are two of each service, the second under a name of its own', () => {
  expect(instancesOf(2).map(({ name }) => name)).toEqual([
    ...['applications', 'applications-2', 'subscriptions', 'subscriptions-2'],
    ...['webhook-dispatcher', 'webhook-dispatcher-2'],
  ]);
});
