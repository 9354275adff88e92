import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { AUTHORITATIVE_ANSWER, decode, encode, type Answer } from 'dns-packet';

/** What a name has; the number counts the questions of the type from 1. */
export type Zone = Record<string, Record<string, (number: number) => Resolution>>;

/** Addresses, or the name that it is another name of and its addresses; or how the server fails. */
export type Resolution = string[] | { alias: string; addresses: string[] } | 'SERVFAIL' | 'silence';

export interface NameServer {
  /** As `DNS_SERVERS` has it. */
  address: string;
  /** How often each was asked for, by `A name`. */
  asked: Map<string, number>;
  close(): void;
}

/** DNS over UDP for the names of a zone; all others do not exist. */
export async function createNameServer(zone: Zone): Promise<NameServer> {
  const asked = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const { id, questions = [] } = decode(message);
    const [question] = questions;
    if (question === undefined) return;
    const { name, type } = question;
    const number = (asked.get(`${type} ${name}`) ?? 0) + 1;
    asked.set(`${type} ${name}`, number);
    const known = zone[name.toLowerCase()];
    const resolution = known === undefined ? 'NXDOMAIN' : (known[type]?.(number) ?? []);
    if (resolution === 'silence') return;
    const failed = typeof resolution === 'string';
    const reply = encode({
      id: id ?? 0,
      type: 'response',
      flags: AUTHORITATIVE_ANSWER | (resolution === 'NXDOMAIN' ? 3 : failed ? 2 : 0),
      questions,
      answers: failed ? [] : answersTo(name, type as 'A' | 'AAAA', resolution),
    });
    socket.send(reply, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}

function answersTo(name: string, type: 'A' | 'AAAA', resolution: Exclude<Resolution, string>): Answer[] {
  if (Array.isArray(resolution)) return resolution.map((data) => ({ name, type, ttl: 0, data }));
  const { alias, addresses } = resolution;
  return [{ name, type: 'CNAME', ttl: 0, data: alias }, ...answersTo(alias, type, addresses)];
}
