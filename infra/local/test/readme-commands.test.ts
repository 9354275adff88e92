import { expect, test } from '@jest/globals';
import { readmeCommands } from '../src/test-run/readme-commands.ts';

const readme = `# Title

\`\`\`sh
npm start
\`\`\`

## Try it

Text

\`\`\`sh
curl one
# not a heading
\`\`\`

\`\`\`json
{}
\`\`\`

### More

\`\`\`sh
curl two
\`\`\`

## Later

\`\`\`sh
npm test
\`\`\`
`;

test('the blocks of one section are taken, in order, with its subsections', () => {
  expect(readmeCommands(readme, 'Try it')).toBe('curl one\n# not a heading\ncurl two');
});

test('a section that is missing or empty is an error, so that the lines cannot go untested', () => {
  expect(() => readmeCommands(readme, 'Nothing')).toThrow('no heading "Nothing"');
  expect(() => readmeCommands('## Try it\n', 'Try it')).toThrow('no shell block');
});
