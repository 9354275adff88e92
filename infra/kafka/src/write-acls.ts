// Writes acls.csv from the table of topics; CI fails when it is not as this writes it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { topics } from '@assistance/types';
import { aclsOf } from './acls-of.ts';

const lines = aclsOf(Object.values(topics)).map((acl) =>
  [acl.principal, acl.operation, acl.resource, acl.name, acl.pattern].join(','),
);
const file = join(import.meta.dirname, '..', 'acls.csv');
writeFileSync(file, ['principal,operation,resource,name,pattern', ...lines, ''].join('\n'));
