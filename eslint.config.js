// Lint rules. `npm run lint` checks everything that Node or a browser runs.
import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import tseslint from 'typescript-eslint';

const everywhere = {
  // A switch over a closed set is a table, and counts as one branch.
  complexity: ['error', { max: 10, variant: 'modified' }],
  'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
  eqeqeq: 'error',
  'no-console': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: true },
  ],
  '@typescript-eslint/restrict-template-expressions': [
    'error',
    { allowNumber: true, allowBoolean: true },
  ],
  '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
  // Typed arrays are read with a cast: every index in the data path is in bounds by construction,
  // and a check per byte would cost more than the read.
  '@typescript-eslint/no-unnecessary-type-assertion': 'off',
  '@typescript-eslint/no-non-null-assertion': 'error',
};

export default tseslint.config(
  { ignores: ['dist', 'release', 'node_modules', 'coverage', 'test-results', '**/fixtures/**'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    files: [
      'main/**/*.ts',
      'main/**/*.cts',
      'main/**/*.mts',
      'tools/**/*.ts',
      'tools/**/*.mts',
      'test/**/*.ts',
      'bench/**/*.ts',
      '*.ts',
    ],
    languageOptions: {
      globals: globals.node,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: everywhere,
  },
  {
    // Reading wire data is a chain of bounds checks, which is clearer in one place.
    files: ['main/{dns,engine}/**/*.ts'],
    rules: { complexity: ['error', { max: 15, variant: 'modified' }] },
  },
  {
    // Say early in the editor what test/tidy.test.ts enforces: the engine does no I/O.
    files: ['main/engine/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [{ group: ['node:*', '**/net/**', '**/log/**', '**/lists/**', 'zod', 'yaml'] }],
        },
      ],
    },
  },
  {
    // Tests read as stories; long ones are fine, and describe/test return promises by design.
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      complexity: 'off',
      'no-console': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['test', 'describe', 'it', 'suite'], package: 'node:test' },
          ],
        },
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  ...svelte.configs.recommended,
  {
    files: ['renderer/**/*.ts', 'renderer/**/*.svelte'],
    languageOptions: {
      globals: globals.browser,
      parserOptions: {
        parser: tseslint.parser,
        projectService: true,
        extraFileExtensions: ['.svelte'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      ...everywhere,
      'svelte/no-at-html-tags': 'error',
      'svelte/require-each-key': 'error',
    },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: { globals: globals.node },
  },
);
