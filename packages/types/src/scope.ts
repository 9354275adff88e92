/** Specification 5.3. */
export const scopes = ['applications:read', 'applications:write', 'events:manage'] as const;
export type Scope = (typeof scopes)[number];
