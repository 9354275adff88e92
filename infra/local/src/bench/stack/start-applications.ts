import type { Bench } from './bench.ts';
import { startService, type ServiceOptions, type StartedService } from './start-service.ts';

export const applicationsPath = '/applications/v1/applications';

/** The applications service with the sandbox's programs, of which one takes anything. */
export const startApplications = (bench: Bench, options: ServiceOptions): Promise<StartedService> =>
  startService(bench, 'applications', {
    ...options,
    environment: { PROGRAM_SETS: 'agency,sandbox', ...options.environment },
  });

export const tokenOf = ({ issuer }: Bench): string =>
  issuer.token({
    clientId: 'bench',
    scopes: ['applications:read', 'applications:write', 'events:manage'],
    claims: { exp: Math.floor(Date.now() / 1000) + 3_600 },
  });
