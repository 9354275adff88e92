import { z } from 'zod';
import { route, type Route } from '@assistance/service-kit';
import type { SandboxClient } from '../identity/load-clients.ts';
import type { SigningKey } from '../identity/load-signing-key.ts';
import { makeToken } from './make-token.ts';

const wish = z.strictObject({
  claims: z.record(z.string(), z.unknown()).nullish(),
  header: z.record(z.string(), z.unknown()).nullish(),
});

/** Tokens to try refusals with; by default a good one of the calling client, with all its scopes. */
export function tokenRoutes(deps: {
  issuer: string;
  audience: string;
  signingKey: SigningKey;
  clients: SandboxClient[];
}): Route[] {
  return [
    route({
      method: 'post',
      path: '/tokens',
      scope: 'any',
      body: wish,
      bodyOptional: true,
      handle({ caller: { clientId }, body }) {
        const scopes = deps.clients.find((client) => client.clientId === clientId)?.scopes ?? [];
        const { claims, header } = body;
        const token = makeToken(
          { clientId, scopes, claims: claims ?? {}, header: header ?? {} },
          deps,
          Math.floor(Date.now() / 1000),
        );
        return { status: 201, body: { token } };
      },
    }),
  ];
}
