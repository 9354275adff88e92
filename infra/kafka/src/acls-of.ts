import type { Party, Topic } from '@assistance/types';

/** One grant: literal, for one principal on one topic or group. Nobody may create topics but who provisions them. */
export interface Acl {
  principal: Party;
  operation: 'Read' | 'Write' | 'Describe';
  resource: 'Topic' | 'Group';
  name: string;
  pattern: 'LITERAL' | 'PREFIXED';
}

/** Who may do what, made from the table of topics alone. Groups of a party begin with its name. */
export function aclsOf(topics: Topic[]): Acl[] {
  const acls: Acl[] = [];
  const grant = (
    principal: Party,
    operation: Acl['operation'],
    resource: Acl['resource'],
    name: string,
  ): void => {
    acls.push({
      principal,
      operation,
      resource,
      name,
      pattern: resource === 'Group' ? 'PREFIXED' : 'LITERAL',
    });
  };
  for (const { name, producer, consumers } of topics) {
    grant(producer, 'Write', 'Topic', name);
    for (const consumer of consumers) grant(consumer, 'Read', 'Topic', name);
    for (const party of new Set([producer, ...consumers])) grant(party, 'Describe', 'Topic', name);
  }
  const readers = new Set(topics.flatMap(({ consumers }) => consumers));
  for (const reader of readers) grant(reader, 'Read', 'Group', reader);
  const order = (acl: Acl): string => [acl.principal, acl.resource, acl.name, acl.operation].join(' ');
  return acls.sort((a, b) => (order(a) < order(b) ? -1 : 1));
}
