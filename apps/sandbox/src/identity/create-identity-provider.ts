import { errors, Provider, type ClientMetadata } from 'oidc-provider';
import { scopes } from '@assistance/types';
import type { Logger } from '@assistance/service-kit';
import type { SandboxClient } from './load-clients.ts';
import type { SigningKey } from './load-signing-key.ts';
import { SeenAssertions } from './seen-assertions.ts';

export const TOKEN_LIFETIME_SECONDS = 600;

/** Names the interfaces as one resource (RFC 8707), which a caller need not name: tokens are for nothing else. */
const resource = 'urn:assistance:interfaces';

export interface IdentityOptions {
  /** `{PUBLIC_URL}/auth`. */
  issuer: string;
  /** The `aud` of every token. */
  audience: string;
  clients: SandboxClient[];
  signingKey: SigningKey;
  log: Logger;
}

/**
 * An authorization server for client credentials alone (RFC 6749, section 4.4): access tokens are JWTs as in RFC 9068,
 * good for 600 s. A request that names no scope gets every scope that the client has.
 */
export function createIdentityProvider({
  issuer,
  audience,
  clients,
  signingKey,
  log,
}: IdentityOptions): Provider {
  const provider = new Provider(issuer, {
    adapter: SeenAssertions,
    clients: clients.map(metadataOf),
    jwks: { keys: [signingKey.jwk] },
    scopes: [...scopes],
    responseTypes: [],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
    renderError: (context, body) => {
      context.body = body;
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: ({ oidc }, asked, client) => {
          if (asked !== resource && asked !== audience) throw new errors.InvalidTarget();
          const granted = client.scope?.split(' ') ?? [];
          // The request's own scopes are read after this call, so here is where none becomes all.
          const wanted =
            typeof oidc.params?.['scope'] === 'string' ? oidc.params['scope'].split(' ') : granted;
          for (const scope of wanted) {
            if (!granted.includes(scope))
              throw new errors.InvalidScope('requested scope is not allowed', scope);
          }
          if (oidc.params !== undefined && granted.length > 0) oidc.params['scope'] = wanted.join(' ');
          return {
            audience,
            scope: granted.join(' '),
            accessTokenFormat: 'jwt',
            accessTokenTTL: TOKEN_LIFETIME_SECONDS,
            jwt: { sign: { alg: 'RS256', kid: signingKey.jwk.kid } },
          };
        },
      },
    },
    ttl: { ClientCredentials: TOKEN_LIFETIME_SECONDS },
  });
  // Trusts the forwarded host and scheme, which `mountIdentity` sets from the issuer: addresses are always public ones.
  provider.proxy = true;
  provider.on('server_error', (_context, error) => log.error({ err: error }, 'identity.failed'));
  return provider;
}

function metadataOf(client: SandboxClient): ClientMetadata {
  const metadata = {
    client_id: client.clientId,
    ...(client.scopes.length > 0 ? { scope: client.scopes.join(' ') } : {}),
  };
  if ('clientSecret' in client) {
    // Registered for Basic, a client may send its secret in the body as well.
    return {
      ...metadata,
      client_secret: client.clientSecret,
      token_endpoint_auth_method: 'client_secret_basic',
    };
  }
  const { kty, crv, x, y, kid, alg } = client.privateJwk;
  return {
    ...metadata,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [{ kty, crv, x, y, kid, alg, use: 'sig' }] },
  };
}
