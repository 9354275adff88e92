import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Inbox } from './inbox.ts';
import { inboxName, type InboxWish } from './inbox-settings.ts';

/** All inboxes, by name; those of earlier starts are opened when they are first asked for. */
export class Inboxes {
  private readonly folder: string;
  private readonly names: Set<string>;
  private readonly opened = new Map<string, Inbox>();

  constructor(stateDir: string) {
    this.folder = join(stateDir, 'inboxes');
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.names = new Set(readdirSync(this.folder).filter((name) => inboxName.test(name)));
  }

  find(name: string): Inbox | undefined {
    const opened = this.opened.get(name);
    if (opened !== undefined || !this.names.has(name)) return opened;
    const inbox = Inbox.open(join(this.folder, name));
    if (inbox !== undefined) this.opened.set(name, inbox);
    return inbox;
  }

  /** Makes the inbox, or sets it anew; what it received stays. */
  put(name: string, wish: InboxWish): Inbox {
    const known = this.find(name);
    if (known !== undefined) {
      known.change(wish);
      return known;
    }
    const made = Inbox.make(join(this.folder, name), wish);
    this.names.add(name);
    this.opened.set(name, made);
    return made;
  }

  /** False when there is none of this name. */
  delete(name: string): boolean {
    const known = this.find(name);
    this.names.delete(name);
    this.opened.delete(name);
    known?.remove();
    return known !== undefined;
  }
}
