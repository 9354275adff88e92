// node dist/dead-letters.js list | replay all | replay <partition>:<offset> …
import { topics } from '@assistance/types';
import { runDeadLetters } from '@assistance/service-kit';

await runDeadLetters({
  deadLetters: topics.applicationsDeadLetters,
  args: process.argv.slice(2),
  env: process.env,
});
