/** Where `npm test` started something for the tests of this run. */
export function testAddress(name: 'TEST_POSTGRES_URL' | 'TEST_KAFKA_BROKERS'): string {
  const address = process.env[name];
  if (address !== undefined && address !== '') return address;
  const packageName = process.env['npm_package_name'] ?? '@assistance/<package>';
  throw new Error(
    `${name} is not set: these tests need the Postgres and Kafka that "npm test" starts. ` +
      `Run in the root folder: npm test -- --filter=${packageName}`,
  );
}
