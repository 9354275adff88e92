import { expect, test } from '@jest/globals';
import { chooseKafka, type KafkaMeans } from '../src/kafka/choose-kafka.ts';

const nothing: KafkaMeans = {
  brokers: undefined,
  brokersAnswer: false,
  javaMajor: undefined,
  maven: false,
  jars: false,
  docker: false,
};
const everything: KafkaMeans = { ...nothing, javaMajor: 21, maven: true, docker: true };

test('brokers of your own come first', () => {
  expect(chooseKafka({ ...everything, brokers: 'host:9092', brokersAnswer: true })).toEqual({
    kind: 'brokers',
  });
});

test('brokers that do not answer are a fault even where Kafka could be started', () => {
  const choice = chooseKafka({ ...everything, brokers: 'host:9092' });
  expect(choice).toMatchObject({ kind: 'none', message: expect.stringContaining('KAFKA_BROKERS=host:9092') });
});

test('Java comes before Docker', () => {
  expect(chooseKafka(everything)).toEqual({ kind: 'java' });
});

test('Maven is not needed once the jars are there', () => {
  expect(chooseKafka({ ...nothing, javaMajor: 17, jars: true })).toEqual({ kind: 'java' });
});

test.each([
  ['no Java', { ...everything, javaMajor: undefined }],
  ['Java that is too old', { ...everything, javaMajor: 11 }],
  ['no Maven', { ...everything, maven: false }],
])('Docker stands in for %s', (_, means) => {
  expect(chooseKafka(means)).toEqual({ kind: 'docker' });
});

test.each([
  ['no Java', nothing, 'no Java was found'],
  ['Java that is too old', { ...nothing, javaMajor: 11, maven: true }, 'Java 11 was found, which is too old'],
  ['no Maven', { ...nothing, javaMajor: 17 }, 'Maven (mvn) was not found'],
])('without Docker, %s is named beside the two other ways', (_, means, lack) => {
  const choice = chooseKafka(means);
  expect(choice.kind).toBe('none');
  for (const text of [lack, 'Java 17 or newer', 'Docker', 'KAFKA_BROKERS=host:port']) {
    expect(choice).toMatchObject({ message: expect.stringContaining(text) });
  }
});
