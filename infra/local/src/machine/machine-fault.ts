/** Something of this machine stands in the way. The message says what, and what to do about it. */
export class MachineFault extends Error {
  override name = 'MachineFault';
}
