/**
 * Calls back once, when the person wants us to stop (Ctrl-C, SIGTERM, a closed terminal) or when whoever started us
 * is gone. Ctrl-C reaches us twice, from the terminal and from the bootstrap; repeats are passed over.
 */
export function onStopSignal(stop: (reason: NodeJS.Signals) => void): void {
  let stopping = false;
  const stopOnce = (reason: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    stop(reason);
  };
  process.on('SIGINT', () => stopOnce('SIGINT'));
  process.on('SIGTERM', () => stopOnce('SIGTERM'));
  process.on('SIGHUP', () => stopOnce('SIGHUP'));
  process.once('disconnect', () => stopOnce('SIGTERM'));
  process.channel?.unref(); // listening for the end of the channel must not keep us running
}
