// node dist/check-programs.js [<folder of a set> …]   refuses what the service would refuse, and runs the worked examples
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '@assistance/service-kit';
import { loadPrograms, whyUnreadable } from './programs/load-programs.ts';
import type { ProgramCatalogue } from './programs/program-catalogue.ts';
import { faultsOfExample, faultsOfExamples, readExamples } from './programs/worked-examples.ts';

const agency = fileURLToPath(new URL('../programs/agency', import.meta.url));

await runCommand(async (say) => {
  let sound = true;
  for (const set of process.argv.length > 2 ? process.argv.slice(2) : [agency]) {
    const catalogue = await loadPrograms(dirname(resolve(set)), [basename(resolve(set))]);
    for (const { name: code } of (await readdir(set, { withFileTypes: true })).filter((each) =>
      each.isDirectory(),
    )) {
      const faults = await faultsOf(catalogue, code, join(set, code));
      say(faults.length === 0 ? `${code} is sound.` : `${code} does not do what its examples say:`);
      for (const fault of faults) say(`  ${fault}`);
      sound &&= faults.length === 0;
    }
  }
  return sound;
});

async function faultsOf(catalogue: ProgramCatalogue, code: string, folder: string): Promise<string[]> {
  try {
    const examples = await readExamples(folder);
    const faults = examples.length === 0 ? [] : await faultsOfExamples(catalogue, code, examples);
    for (const example of examples) {
      const wrong = await faultsOfExample(catalogue, code, example);
      faults.push(...wrong.map((fault) => `${example.name}: ${fault}`));
    }
    return faults;
  } catch (error) {
    return whyUnreadable(error).map((why) => `examples.json: ${why}`);
  }
}
