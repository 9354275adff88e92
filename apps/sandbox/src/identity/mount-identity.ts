import express, { type Express } from 'express';
import type { Provider } from 'oidc-provider';
import { ApiError, contextOf } from '@assistance/service-kit';

/** What the issuer serves; errors of the protocol keep their OAuth form (RFC 6749, section 5.2). */
const methodsOfPaths: Record<string, string[]> = {
  '/token': ['POST', 'OPTIONS'],
  '/jwks': ['GET', 'HEAD', 'OPTIONS'],
  '/.well-known/openid-configuration': ['GET', 'HEAD', 'OPTIONS'],
  '/.well-known/oauth-authorization-server': ['GET', 'HEAD', 'OPTIONS'],
};

/** Serves the issuer below the path of its own address, under its public host whatever host was called. */
export function mountIdentity(app: Express, provider: Provider): void {
  const { pathname, host, protocol } = new URL(provider.issuer);
  const serve = provider.callback();
  const router = express.Router({ caseSensitive: true, strict: true });
  for (const [path, methods] of Object.entries(methodsOfPaths)) {
    router.all(path, (request, response) => {
      contextOf(response).route = pathname + path;
      if (!methods.includes(request.method)) {
        const allow = methods.join(', ');
        throw new ApiError('method_not_allowed', `This address takes ${allow}.`, {
          headers: { Allow: allow },
        });
      }
      request.headers['x-forwarded-host'] = host;
      request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
      return serve(request, response);
    });
  }
  app.use(pathname, router);
}
