import type { Adapter, AdapterPayload } from 'oidc-provider';

const MAX_REMEMBERED = 10_000;

/**
 * All that the provider has to remember: which client assertions were used (RFC 7523, section 3). Tokens are signed,
 * not stored, and nobody logs in. In memory, at most 10 000; the oldest are forgotten first.
 */
export class SeenAssertions implements Adapter {
  private readonly remembered = new Map<string, { payload: AdapterPayload; expiresAtMs: number }>();

  async upsert(id: string, payload: AdapterPayload, expiresInSeconds = 0): Promise<void> {
    this.remembered.delete(id);
    this.remembered.set(id, { payload, expiresAtMs: Date.now() + expiresInSeconds * 1000 });
    for (const [oldest, { expiresAtMs }] of this.remembered) {
      if (this.remembered.size <= MAX_REMEMBERED && expiresAtMs > Date.now()) break;
      this.remembered.delete(oldest);
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const found = this.remembered.get(id);
    return found !== undefined && found.expiresAtMs > Date.now() ? found.payload : undefined;
  }

  async destroy(id: string): Promise<void> {
    this.remembered.delete(id);
  }

  async consume(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async revokeByGrantId(): Promise<void> {}
}
