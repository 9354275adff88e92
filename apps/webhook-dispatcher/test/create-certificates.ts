import { generate } from 'selfsigned';

export interface Certificate {
  key: string;
  cert: string;
}

const DAY_MS = 86_400_000;

/** An authority of the test's own, and what it has signed. */
export async function createCertificates(): Promise<{
  authority: string;
  /** Of the authority, for a name, until a day from now if not said otherwise. */
  issue(name: string, options?: { until?: Date }): Promise<Certificate>;
}> {
  const own = await generate([{ name: 'commonName', value: 'Authority of a test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  return {
    authority: own.cert,
    async issue(name, { until = new Date(Date.now() + DAY_MS) } = {}) {
      const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
        keyType: 'ec',
        algorithm: 'sha256',
        notBeforeDate: new Date(Date.now() - 3 * DAY_MS),
        notAfterDate: until,
        ca: { key: own.private, cert: own.cert },
        extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
      });
      return { key, cert };
    },
  };
}
