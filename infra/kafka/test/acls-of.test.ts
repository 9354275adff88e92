import { expect, test } from '@jest/globals';
import { topics, type Topic } from '@assistance/types';
import { aclsOf } from '../src/acls-of.ts';

const acls = aclsOf(Object.values<Topic>(topics));

test('each topic is written by its producer alone and read by its consumers alone', () => {
  for (const { name, producer, consumers } of Object.values<Topic>(topics)) {
    const of = (operation: string) =>
      acls
        .filter((acl) => acl.name === name && acl.operation === operation)
        .map(({ principal }) => principal);
    expect(of('Write')).toEqual([producer]);
    expect(of('Read').sort()).toEqual([...consumers].sort());
  }
});

test('nobody may create, alter or delete a topic', () => {
  expect(new Set(acls.map(({ operation }) => operation))).toEqual(new Set(['Read', 'Write', 'Describe']));
});

test('a party reads in groups that begin with its own name only', () => {
  for (const { resource, principal, name } of acls) if (resource === 'Group') expect(name).toBe(principal);
});
