import { seconds } from '../machine/progress.ts';

const readyWithinMs = 30_000;

/** Resolves when a service says at its operations port that it is ready; rejects when it ends or takes too long. */
export async function untilReady(opsPort: string, exited: Promise<string>): Promise<void> {
  let ended: string | undefined;
  void exited.then((how) => (ended = how));
  const deadline = performance.now() + readyWithinMs;
  let said = 'nothing';
  while (performance.now() < deadline) {
    if (ended !== undefined) throw new Error(`it ended with ${ended}.`);
    try {
      const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
      if (answer.ok) return;
      said = await answer.text();
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`it was not ready within ${seconds(readyWithinMs)}; it said ${said}.`);
}
