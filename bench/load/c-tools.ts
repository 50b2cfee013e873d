/** Compiles the load tools written in C (echo.c, generator.c) into dist/bench, once a change. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const OUTPUT = resolve(import.meta.dirname, '../../dist/bench');
const FLAGS = ['-O2', '-Wall', '-Wextra', '-Werror', '-std=c11', '-D_GNU_SOURCE'];

/** @returns path of the program. @throws Error when there is no C compiler or it refuses */
export function compileTool(name: 'echo' | 'generator'): string {
  const source = join(import.meta.dirname, `${name}.c`);
  const program = join(OUTPUT, name);
  const built = statSync(program, { throwIfNoEntry: false });
  if (built !== undefined && built.mtimeMs > statSync(source).mtimeMs) return program;
  mkdirSync(OUTPUT, { recursive: true });
  execFileSync(process.env['CC'] ?? 'cc', [...FLAGS, '-o', program, source], { stdio: 'inherit' });
  return program;
}
