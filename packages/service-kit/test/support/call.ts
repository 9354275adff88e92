import got, { type Response } from 'got';

export interface Called {
  status: number;
  headers: Response['headers'];
  /** Parsed when it is JSON. */

  body: any;
  bytes: Buffer;
}

/** One request; never throws for a status, follows nothing, tries once. */
export async function call(
  method: string,
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Called> {
  const response = await got(url, {
    method: method as 'GET',
    headers,
    ...(body === undefined ? {} : { body }),
    throwHttpErrors: false,
    followRedirect: false,
    retry: { limit: 0 },
    responseType: 'buffer',
    decompress: false,
  });
  const bytes = Buffer.from(response.body);
  const isJson =
    response.headers['content-type']?.startsWith('application/json') === true && bytes.length > 0;
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? JSON.parse(bytes.toString()) : bytes.toString(),
    bytes,
  };
}
