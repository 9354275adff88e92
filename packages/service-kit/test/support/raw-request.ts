import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  json: () => Record<string, unknown>;
}

/** Sends bytes as they are and reads the first answer, whatever the server thinks of them. */
export async function rawRequest(port: number, ...parts: (string | Buffer)[]): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  for (const part of parts) socket.write(part);
  try {
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

/** The next answer on a connection; reads until its Content-Length is there, or the connection ends. */
export function readAnswer(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const finish = (): void => {
      const answer = parse(text);
      if (answer === undefined) reject(new Error(`no answer but: ${JSON.stringify(text)}`));
      else resolve(answer);
    };
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const answer = parse(text);
      if (answer !== undefined && answer.body.length >= Number(answer.headers['content-length'])) finish();
    });
    socket.on('end', finish);
    socket.on('error', finish);
  });
}

function parse(text: string): RawAnswer | undefined {
  const headEnds = text.indexOf('\r\n\r\n');
  if (headEnds === -1) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, headEnds).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  if (status === 100) return parse(text.slice(headEnds + 4));
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const body = text.slice(headEnds + 4);
  return { status, headers, body, json: () => JSON.parse(body) as Record<string, unknown> };
}
