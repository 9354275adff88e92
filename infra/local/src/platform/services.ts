/** The services that an agency runs, each with a database and a role of its own. */
export const services = ['applications', 'subscriptions', 'webhook-dispatcher'] as const;
export type Service = (typeof services)[number];

/** Where each mounts itself. */
export const basePaths: Record<Service, string> = {
  applications: '/applications/v1',
  subscriptions: '/events/v1',
  'webhook-dispatcher': '/deliveries/v1',
};

export interface Instance {
  service: Service;
  /** `applications`, the second one `applications-2`. */
  name: string;
}

export function instancesOf(count: number): Instance[] {
  return services.flatMap((service) =>
    Array.from({ length: count }, (_, index) => ({
      service,
      name: index === 0 ? service : `${service}-${index + 1}`,
    })),
  );
}
