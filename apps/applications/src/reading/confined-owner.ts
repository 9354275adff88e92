import { notFound, type Caller } from '@assistance/service-kit';

/** Who sees what (interface-details 2). */
export interface Visibility {
  /** Owners that see, list and withdraw only what they submitted. */
  partners: ReadonlySet<string>;
  /** Owners that read any application's history; each such read is audited. */
  operators: ReadonlySet<string>;
}

/** The owner that a caller is confined to, or null: by its scope it sees all. */
export const confinedOwner = ({ partners }: Visibility, { owner }: Caller): string | null =>
  partners.has(owner) ? owner : null;

/** An application of another looks to a partner exactly like one that does not exist. */
export const applicationNotFound = () => notFound('application');
