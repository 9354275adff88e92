/** Specification 5.3. */
export const scopes = ['applications:read', 'applications:write', 'events:manage'] as const;
export type Scope = (typeof scopes)[number];

/** What each grants (specification 5.3). */
export const scopeGrants: Record<Scope, string> = {
  'applications:read': 'Read applications',
  'applications:write': 'Submit and withdraw applications',
  'events:manage': 'Manage event subscriptions',
};
