import {
  createHttpPart,
  createHttpServer,
  createLogger,
  createMetrics,
  createOpsServer,
  createTokenVerifier,
  Readiness,
  readConfig,
  runService,
  tokenIssuer,
} from '@assistance/service-kit';
import { sandboxConfig } from './config.ts';
import { createAgencySystems } from './create-agency-systems.ts';
import { createApp } from './app.ts';
import { createFrontDoor } from './gateway/create-front-door.ts';
import { createIdentityProvider } from './identity/create-identity-provider.ts';
import { openState } from './state/open-state.ts';
import { tokenRoutes } from './tokens/token-routes.ts';

const config = readConfig(sandboxConfig, process.env);
const log = createLogger({ service: 'sandbox', level: config.LOG_LEVEL });
const metrics = createMetrics('sandbox');

const state = await openState(config.STATE_DIR).catch((error: Error) => {
  log.fatal({ err: error }, 'sandbox.state_unusable');
  process.exit(1);
});

const issuer = {
  issuer: `${config.PUBLIC_URL}/auth`,
  audience: config.TOKEN_AUDIENCE,
  clients: state.clients,
  signingKey: state.signingKey,
};
const jwksUri = `http://127.0.0.1:${config.HTTP_PORT}/auth/jwks`;

/** What stands around the platform. In an agency's deployment all but the issuer is the agency's own. */
const systems =
  config.DEPLOYMENT === 'sandbox' ? createAgencySystems({ config, state, log, metrics }) : undefined;
const readiness = new Readiness(systems?.dependencies ?? []);

const app = createApp({
  provider: createIdentityProvider({ ...issuer, log }),
  inboxes: systems?.inboxes,
  routes: [...tokenRoutes(issuer), ...(systems?.routes ?? [])],
  verifier: createTokenVerifier({
    issuers: [tokenIssuer.parse({ issuer: issuer.issuer, jwksUri })],
    audience: config.TOKEN_AUDIENCE,
  }),
  log,
  metrics,
});
const frontDoor = createFrontDoor({ upstreams: config.UPSTREAMS, inboxes: systems?.inboxes, app, log });

await runService({
  log,
  readiness,
  parts: [
    createOpsServer({ port: config.OPS_PORT, readiness, metrics }),
    ...(systems?.parts ?? []),
    createHttpPart(createHttpServer(frontDoor), config.HTTP_PORT),
  ],
});
