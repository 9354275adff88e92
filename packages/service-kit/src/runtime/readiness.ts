/** What a service needs to do its work; each says whether it is there. */
export interface Dependency {
  name: string;
  isReady(): boolean;
}

/** Knows whether the service should be sent work. Off from the moment that it stops. */
export class Readiness {
  private readonly dependencies: Dependency[];
  private stopping = false;

  constructor(dependencies: Dependency[]) {
    this.dependencies = dependencies;
  }

  /** The names of what is missing; empty when ready. */
  missing(): string[] {
    return this.stopping ? ['stopping'] : this.absent();
  }

  /** The names of the dependencies that are not there, also while the service stops. */
  absent(): string[] {
    return this.dependencies.filter((dependency) => !dependency.isReady()).map(({ name }) => name);
  }

  turnOff(): void {
    this.stopping = true;
  }
}
