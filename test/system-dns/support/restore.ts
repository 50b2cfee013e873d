/** `sluice restore` without the rest of the program. Argument: folder of the journal. */
import { restoreNow } from '../../../main/system-dns/restore-now.ts';

const report = await restoreNow({ directory: process.argv[2] ?? '' });
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(report.outcome === 'partly' ? 1 : 0);
