import { CaseLedger } from '../case-management/case-ledger.ts';
import { loadClients, type SandboxClient } from '../identity/load-clients.ts';
import { loadSigningKey, type SigningKey } from '../identity/load-signing-key.ts';
import { Inboxes } from '../inbox/inboxes.ts';

/** All that the sandbox keeps from one start to the next. */
export interface SandboxState {
  clients: SandboxClient[];
  signingKey: SigningKey;
  ledger: CaseLedger;
  inboxes: Inboxes;
}

/** Opens what an earlier start left in the folder, or makes it. A damaged file is named and left as it is. */
export async function openState(stateDir: string): Promise<SandboxState> {
  return {
    clients: await loadClients(stateDir),
    signingKey: await loadSigningKey(stateDir),
    ledger: new CaseLedger(stateDir),
    inboxes: new Inboxes(stateDir),
  };
}
