/** Another program: holds the write lock of a database until told to let go. Run by fork. */
import Sqlite from 'better-sqlite3';

const database = new Sqlite(process.argv[2] as string);
database.exec('BEGIN EXCLUSIVE');
process.send?.('locked');
process.once('message', () => {
  database.exec('COMMIT');
  database.close();
  process.disconnect();
});
