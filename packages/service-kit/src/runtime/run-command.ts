/**
 * What an operator's command runs. Exit 0 when `work` answers true; 1 when it answers false or fails, with one line on
 * standard error in place of a stack.
 */
export async function runCommand(work: (say: (line: string) => void) => Promise<boolean>): Promise<void> {
  try {
    if (!(await work((line) => process.stdout.write(`${line}\n`)))) process.exitCode = 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : 'The command failed.'}\n`);
    process.exitCode = 1;
  }
}
